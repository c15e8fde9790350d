"""From a PTX module to Ori functions: context, registry of handlers, parameters, data layout."""
