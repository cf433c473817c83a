"""Sources of a flag's value: the command line, a variable, the configuration file, a default.

They count in this order: the first source that has a value counts. Names of variables and keys follow from
the flags (`names`), so a new flag of any command has both at once.
"""
