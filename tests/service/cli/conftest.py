"""Commands, for every test of the command line."""

from tests.service import commands

run = commands.run
shell = commands.shell
