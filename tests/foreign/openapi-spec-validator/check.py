"""The OpenAPI document of a running service, judged by openapi-spec-validator."""

from __future__ import annotations

import json
import os
from urllib.request import Request, urlopen

from openapi_spec_validator import OpenAPIV31SpecValidator

CLIENT = "openapi-spec-validator"
URL, KEY = os.environ["HOLDFAST_URL"], os.environ["HOLDFAST_KEY"]
PLACES = {"document_of_v1": "/v1/openapi.json", "document_at_the_root": "/openapi.json"}


def mistakes(place: str) -> list[str]:
    asked = Request(URL + place, headers={"authorization": f"Bearer {KEY}"})
    with urlopen(asked, timeout=60) as answer:
        document = json.load(answer)
    return [
        f"{'/'.join(map(str, each.absolute_path))}: {each.message[:120]}"
        for each in OpenAPIV31SpecValidator(document).iter_errors()
    ]


def main() -> None:
    for name, place in PLACES.items():
        try:
            found = mistakes(place)
        except Exception as error:  # noqa: BLE001 (whatever it is, it is what is told)
            found = [f"{type(error).__name__} {error}"]
        words = " ".join("; ".join(found).split())
        line = f"FAIL {CLIENT}/{name}: {words[:300]}" if found else f"PASS {CLIENT}/{name}"
        print(line, flush=True)


if __name__ == "__main__":
    main()
