// The state of the timeline while it is looked at: what is in sight, folded, chosen and found. It draws a frame when
// something has changed, and tells the view of what concerns it. Times are in nanoseconds.
import { Frame } from "./draw";
import { inSight, itemAt, layOut, type Group, type Layout, type Placed, type Track } from "./layout";
import { Motion } from "./motion";
import type { Colors } from "./paint";
import { hitsOf, type Hits } from "./search";
import type { Lane } from "./lanes";
import type { Ref, Source } from "./source";

export interface Span {
  from: number;
  to: number;
}

export interface Area extends Span {
  tracks?: Set<Track>; // undefined: all
}

export interface Told {
  moves(): void; // what is in sight begins to change, or goes on
  sight(): void; // what is in sight has changed
  settled(): void; // and does not move any more
  chosen(): void; // a slice, an area or a mark
  hover(): void;
}

export interface Spot {
  time: number;
  item?: Placed;
  row: number;
  lane?: Lane;
  ref?: Ref;
}

export class Stage {
  readonly motion: Motion;
  groups: Group[] = [];
  turned = new Set<string>();
  layout: Layout = layOut([], this.turned);
  scrollTop = 0;
  width = 0; // CSS pixels of the canvas
  height = 0;
  colors!: Colors;
  chosen?: Ref;
  area?: Area;
  mark?: Span;
  hover?: Ref;
  pointer?: { x: number; y: number };
  hits: Hits[] = [];
  onLaid: (layout: Layout) => void = () => {};
  private readonly hitLanes = new Map<Lane, Uint32Array>();
  private wanted = 0;
  private readonly frame: Frame;

  constructor(
    readonly canvas: HTMLCanvasElement,
    readonly axis: HTMLCanvasElement,
    readonly scroller: HTMLElement,
    readonly all: Span,
    readonly zero: number, // at which tables and advice begin to count
    readonly told: Told,
  ) {
    this.motion = new Motion(all, () => {
      this.changed();
      this.told.moves();
    });
    this.frame = new Frame(this);
  }

  dispose() {
    cancelAnimationFrame(this.wanted);
    this.wanted = -1;
  }

  // --- frames

  changed() {
    if (this.wanted === 0) this.wanted = requestAnimationFrame((now) => this.draw(now));
  }

  private moved = false;
  private draw(now: number) {
    this.wanted = 0;
    const { from, to } = this.motion.view;
    const goesOn = this.motion.advance(now);
    if (from !== this.motion.view.from || to !== this.motion.view.to) this.moved = true;
    performance.mark("timeline-frame");
    this.frame.draw();
    performance.measure("timeline-frame", "timeline-frame");
    performance.clearMarks("timeline-frame");
    this.told.sight();
    if (goesOn) this.changed();
    else if (this.moved) {
      this.moved = false;
      this.told.settled();
    }
  }

  // --- sizes, tracks

  resize(width: number, height: number) {
    this.width = width;
    this.height = height;
    this.motion.width = width;
    this.frame.resize();
    this.changed();
  }

  show(colors: Colors) {
    this.colors = colors;
    this.frame.forget();
    this.changed();
  }

  lay(groups: Group[], turned: Set<string>) {
    this.groups = groups;
    this.turned = turned;
    this.layout = layOut(groups, turned);
    this.frame.forget();
    this.onLaid(this.layout);
    this.changed();
    this.told.settled();
  }

  // Folds or unfolds a group or a track.
  toggle(key: string) {
    const turned = new Set(this.turned);
    if (!turned.delete(key)) turned.add(key);
    this.lay(this.groups, turned);
  }

  sources(): Source[] {
    return [...new Set(this.groups.flatMap(({ tracks }) => tracks.map(({ source }) => source)))];
  }

  scrolled(top: number) {
    this.scrollTop = top;
    this.changed();
    this.told.settled();
  }

  inSight(): Placed[] {
    const [from, to] = inSight(this.layout, this.scrollTop, this.height);
    return this.layout.items.slice(from, to);
  }

  // --- what is where

  x(time: number): number {
    const { from, to } = this.motion.view;
    return ((time - from) / (to - from)) * this.width;
  }
  time(x: number): number {
    const { from, to } = this.motion.view;
    return from + (x / this.width) * (to - from);
  }

  spot(x: number, y: number): Spot {
    const time = this.time(x);
    const item = itemAt(this.layout, y + this.scrollTop);
    if (item?.kind !== "track") return { time, item, row: -1 };
    const track = item.track!;
    const row = Math.floor((y + this.scrollTop - item.top) / this.frame.rowHeight);
    const lane = row < item.rows ? track.lanes[row] : undefined;
    // Three pixels beside one are near enough.
    const i = lane ? lane.at(time, this.time(3) - this.time(0)) : -1;
    return { time, item, row, lane, ref: i < 0 ? undefined : { source: track.source, slice: lane!.slice(i) } };
  }

  // The pointer is there, or nowhere.
  point(at: { x: number; y: number } | undefined) {
    this.pointer = at;
    this.hover = at && this.spot(at.x, at.y).ref;
    this.changed();
    this.told.hover();
  }

  // The track on which a slice stands, among those of the threads and streams.
  trackOf({ source, slice }: Ref): Track | undefined {
    const { track } = source.place(slice);
    for (const group of this.groups)
      for (const one of group.tracks) if (one.source === source && one.number === track) return one;
    return undefined;
  }

  hitsOf(lane: Lane, source: Source): Uint32Array | undefined {
    const hits = this.hits.find((one) => one.source === source);
    if (!hits) return undefined;
    let found = this.hitLanes.get(lane);
    if (!found) this.hitLanes.set(lane, (found = hitsOf(lane, hits)));
    return found;
  }

  // --- choosing

  choose(ref: Ref | undefined, reveal = true) {
    this.chosen = ref;
    this.area = undefined;
    if (ref && reveal) this.reveal(ref);
    this.changed();
    this.told.chosen();
  }

  chooseArea(area: Area | undefined) {
    this.area = area;
    if (area) this.chosen = undefined;
    this.changed();
    this.told.chosen();
  }

  setMark(mark: Span | undefined) {
    this.mark = mark;
    this.changed();
    this.told.chosen();
  }

  find(hits: Hits[]) {
    this.hits = hits;
    this.hitLanes.clear();
    this.frame.forget();
    this.changed();
  }

  // What is chosen, as a span of time.
  span(): Span | undefined {
    if (this.area) return this.area;
    if (!this.chosen) return undefined;
    const { source, slice } = this.chosen;
    return { from: source.begin(slice), to: source.end(slice) };
  }

  fit(room = 0.1) {
    const span = this.span();
    if (span) this.motion.fit(span, room);
    else this.motion.fit(this.all, 0);
  }

  // Unfolds what a slice is in, scrolls to it, and moves to where it can be seen.
  reveal(ref: Ref) {
    const track = this.trackOf(ref);
    const span = { from: ref.source.begin(ref.slice), to: ref.source.end(ref.slice) };
    this.motion.include(span);
    if (!track) return;
    const group = this.groups.find(({ tracks }) => tracks.includes(track))!;
    const folded = [group, ...(ref.source.place(ref.slice).row > 0 ? [track] : [])].filter(
      ({ key, open }) => open === this.turned.has(key),
    );
    if (folded.length > 0) {
      const turned = new Set(this.turned);
      for (const { key } of folded) if (!turned.delete(key)) turned.add(key);
      this.lay(this.groups, turned);
    }
    const item = this.layout.byTrack.get(track);
    if (!item) return;
    const top = item.top + Math.min(item.rows - 1, ref.source.place(ref.slice).row) * this.frame.rowHeight;
    const margin = 40;
    let wanted = this.scrollTop;
    if (top < wanted + margin) wanted = top - margin;
    else if (top + margin > wanted + this.height) wanted = top + margin - this.height;
    if (wanted !== this.scrollTop) this.scrollTo(wanted);
  }

  scrollTo(top: number) {
    // The spacer may not have its new height yet.
    this.scrollTop = Math.max(0, Math.min(top, this.layout.height - this.height));
    this.changed();
    requestAnimationFrame(() => (this.scroller.scrollTop = this.scrollTop));
  }

  scrollAndTell(by: number) {
    this.scrollTo(this.scrollTop + by);
  }
}
