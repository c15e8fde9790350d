"""From a PTX module to Ori functions: context, registry of handlers, parameters, calls, control flow, data layout."""
