"""What all pages in a browser share: a board that knows the rules, looks, and what they may load.

Scripts and styles are put into the pages themselves, which load nothing from anywhere.
"""
