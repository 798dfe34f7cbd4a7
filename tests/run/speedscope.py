"""What a file in speedscope's format holds, read as strictly as speedscope does."""
import json


def load(path):
    data = json.loads(path.read_text(encoding="ascii"))
    assert data["$schema"] == "https://www.speedscope.app/file-format-schema.json" and data["profiles"]
    assert 0 <= data["activeProfileIndex"] < len(data["profiles"])
    return data


def ranges(profile):
    """[(frame, begin, end)] of an evented profile: times never go back, and what opens last closes first."""
    found, open_, at = [], [], profile["startValue"]
    for event in profile["events"]:
        assert event["at"] >= at and event["type"] in "OC", event
        at = event["at"]
        if event["type"] == "O":
            open_.append((event["frame"], at))
        else:
            frame, begin = open_.pop()
            assert frame == event["frame"], event
            found.append((frame, begin, at))
    assert not open_ and at <= profile["endValue"]
    return found


def of_type(data, kind):
    return [profile for profile in data["profiles"] if profile["type"] == kind]
