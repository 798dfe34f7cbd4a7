// What part of the time is in sight.
import { Derived } from "../figure";
import { useBell, type Bell } from "../timeline/bell";
import type { Stage } from "../timeline/stage";

export function Sight({ stage, bell }: { stage: Stage; bell: Bell }) {
  useBell(bell, 100);
  const { from, to } = stage.motion.view;
  return (
    <>
      <span class="muted">In sight</span>{" "}
      <b>
        <Derived rule="time in sight" value={Math.round(to - from) / 1000} unit="us" />
      </b>
      <br />
      <span class="muted">from </span>
      <Derived rule="begin of what is in sight" value={Math.round(from) / 1000} unit="us" />
    </>
  );
}
