"""Where may the value of a flag come from? The command line, a variable, the configuration file, a default.

In this order: the first source that has a value counts. Names of variables and keys follow from the flags
(`names`), so a new flag of any command has both at once.
"""
