// What is under the pointer.
import { format } from "../format";
import { useBell, type Bell } from "../timeline/bell";
import { valueAt } from "../timeline/counter";
import type { Stage } from "../timeline/stage";

export function Tip({ stage, bell }: { stage: Stage; bell: Bell }) {
  useBell(bell);
  const { pointer, hover } = stage;
  if (!pointer) return null;
  const spot = stage.spot(pointer.x, pointer.y);
  const counter = spot.item?.track?.counter;
  if (!hover && !counter) return null;
  const place = (element: HTMLElement | null) => {
    if (!element) return;
    const left = stage.canvas.offsetLeft + pointer.x;
    const right = left + 16 + element.offsetWidth > stage.canvas.offsetLeft + stage.width;
    element.style.left = `${right ? left - element.offsetWidth - 12 : left + 14}px`;
    element.style.top = `${Math.min(pointer.y + 16, stage.height - element.offsetHeight - 4)}px`;
  };
  return (
    <div class="tip tl-tip" ref={place} aria-hidden="true">
      {hover ? (
        <>
          <b>
            <bdi class="name">{hover.source.name(hover.slice).slice(0, 300)}</bdi>
          </b>
          <br />
          <span class="tick">
            {format((hover.source.end(hover.slice) - hover.source.begin(hover.slice)) / 1e3, "us")}
          </span>{" "}
          <span class="muted">{hover.source.category(hover.slice)}</span>
        </>
      ) : (
        counter && (
          <>
            <b>
              <bdi>{counter.title}</bdi>
            </b>{" "}
            <span class="tick">{format(valueAt(counter, spot.time), counter.unit)}</span>
          </>
        )
      )}
    </div>
  );
}
