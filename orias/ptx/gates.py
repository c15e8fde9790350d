"""Version and target gates: the messages ptxas gives (front-end inventory 2.2 and 2.5)."""


def feature_message(name: str, types: tuple[str, ...]) -> str:
    """How ptxas calls the feature that a row of the table is."""
    for word in types:
        if word in ("bf16", "bf16x2", "tf32"):
            return f".{word}"
    if types and types[0] in ("f16", "f16x2", "u16x2", "s16x2", "f32x2"):
        return f"{name}.{types[0]}"
    return name


def gate_messages(
    feature: str, have: int, sm: int, family: bool, target: str, version: int, first_sm: int, family_only: bool
) -> list[str]:
    """The messages for using ``feature`` (from PTX version ``version``, SM ``first_sm``) in a module."""
    messages: list[str] = []
    if have < version:
        messages.append(f"Feature '{feature}' requires PTX ISA .version {version // 10}.{version % 10} or later")
    if sm < first_sm:
        if family_only:
            messages.append(f"Instruction '{feature}' not supported on .target '{target}'")
        else:
            messages.append(f"Feature '{feature}' requires .target sm_{first_sm} or higher")
    elif family_only and not family:
        messages.append(f"Instruction '{feature}' not supported on .target '{target}'")
    return messages
