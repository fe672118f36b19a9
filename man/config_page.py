# SPDX-License-Identifier: BSD-2-Clause
"""The keys of ktraced.json(5), from the schema of the configuration."""
import roff


def kind(schema):
    """What a value may be, in words."""
    if "oneOf" in schema or "anyOf" in schema:
        return " or ".join(dict.fromkeys(kind(choice) for choice in schema.get("oneOf") or schema["anyOf"]))
    if "enum" in schema:
        values = schema["enum"]
        if all(isinstance(value, int) for value in values) and len(values) > 7:
            return f"one of {values[0]}, {values[1]}, {values[2]}, … {values[-1]}"
        return "one of " + ", ".join(str(value) for value in values)
    if schema.get("type") == "array":
        inner = kind(schema["items"])
        return "a list of names" if inner.startswith("one of") else f"a list, each {inner}"
    if "propertyNames" in schema:
        return f"an object of events, each {kind(schema['additionalProperties'])}"
    if schema.get("type") == "object":
        return "{ " + ", ".join(f'"{key}"' for key in schema.get("properties", {})) + " }"
    words = {"boolean": "true or false", "string": "a text", "integer": "an integer", "number": "a number"}
    text = words[schema["type"]]
    if "minimum" in schema and "maximum" in schema:
        text += f" from {schema['minimum']} to {schema['maximum']}"
    return text


def default_of(schema):
    if "default" not in schema:
        return ""
    value = schema["default"]
    shown = {True: "true", False: "false"}.get(value, str(value)) if isinstance(value, bool) else str(value)
    return f" Default: {shown}." if shown else " Default: empty."


def is_section(schema):
    return schema.get("type") == "object" and "properties" in schema


def leaves(schema, path=()):
    """Each key that is not a section, with its path: ("flight", "banks")."""
    for key, value in schema["properties"].items():
        if is_section(value):
            yield from leaves(value, (*path, key))
        elif not key.startswith("$"):
            yield (*path, key), value


def keys(schema):
    """The lines of all keys, a heading for each section."""
    lines = []
    plain = {key: value for key, value in schema["properties"].items() if not is_section(value) and key[0] != "$"}
    for section, value in schema["properties"].items():
        if is_section(value):
            lines += [f".SS {roff.escape(section)}", roff.escape(value["description"])]
            lines += paragraphs(leaves(value, (section,)))
    return lines + [".SS Keys without a section"] + paragraphs(((key,), value) for key, value in plain.items())


def paragraphs(found):
    lines = []
    for path, schema in found:
        text = f"{schema['description']} A value is {kind(schema)}.{default_of(schema)}"
        lines += [".TP", roff.bold(".".join(path)), roff.escape(text)]
    return lines
