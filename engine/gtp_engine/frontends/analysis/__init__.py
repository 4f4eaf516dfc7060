"""KataGo's JSON analysis protocol: queries in, one JSON object a line, answers out as they come.

`fields` reads typed values out of JSON, `query` makes a query of a line, `overrides` knows the
settings that a query may change, `answer` writes what a search found, `server` holds the
conversation, `records` analyses game records without any client.
"""
