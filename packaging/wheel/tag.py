"""Says for which machines the wheel is."""

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class Tag(BuildHookInterface):
    def initialize(self, version, build_data):
        build_data["tag"] = "py3-none-@PLATFORM@"
        build_data["pure_python"] = False
