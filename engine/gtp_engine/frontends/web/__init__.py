"""What browsers show: a board that knows the rules, and the looks of all pages.

Scripts and styles are put into the pages themselves, which load nothing from anywhere.
"""
