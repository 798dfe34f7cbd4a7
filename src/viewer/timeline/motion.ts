// What part of the time is in sight, and how it moves: smoothly to where it should be, and on while a key is held.
import type { Span } from "./stage";

const kShortest = 10; // ns in sight at least
const kGlide = 70; // ms in which two thirds of a way are done
const kSpeed = 1.1; // of what is in sight, a second, while a key is held
const kBeyond = 0.5; // of what is in sight may be empty at an end

export class Motion {
  view: Span;
  width = 1;
  private target: Span;
  private last = 0;
  private pan = 0; // -1, 0, 1: keys that are held
  private zoomBy = 0;
  private zoomAt?: number;

  constructor(
    readonly all: Span,
    private readonly changed: () => void,
  ) {
    this.view = { ...all };
    this.target = this.view;
  }

  get moves(): boolean {
    return this.pan !== 0 || this.zoomBy !== 0 || this.target !== this.view;
  }

  set(span: Span) {
    this.view = this.bounded(span);
    this.target = this.view;
    this.changed();
  }

  glideTo(span: Span) {
    const target = this.bounded(span);
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) return this.set(target);
    this.target = target;
    this.changed();
  }

  // With so much room at both sides, of the whole.
  fit({ from, to }: Span, room: number) {
    const length = Math.max(to - from, kShortest);
    this.glideTo({ from: from - room * length, to: from + length + room * length });
  }

  // To where a span is seen: not at all if it is; a pixel of it at least.
  include({ from, to }: Span) {
    const { from: left, to: right } = this.target;
    const length = right - left;
    if ((to - from) * this.width < length * 2) {
      // Too short to be seen: 8 pixels for it.
      const wanted = Math.max(((to - from) * this.width) / 8, kShortest * 20);
      if ((to - from) * this.width < length) return this.centre((from + to) / 2, Math.min(length, wanted));
    }
    if (from >= left && to <= right) return;
    if (to - from > 0.9 * length) {
      if (from < right && to > left) return;
      return this.fit({ from, to }, 0.1);
    }
    this.centre((from + to) / 2, length);
  }

  private centre(time: number, length: number) {
    this.glideTo({ from: time - length / 2, to: time + length / 2 });
  }

  panBy(pixels: number) {
    const { from, to } = this.target;
    const by = (pixels / this.width) * (to - from);
    this.set({ from: from + by, to: to + by });
  }

  zoom(factor: number, time: number) {
    const { from, to } = this.target;
    const length = Math.max(kShortest, (to - from) * factor);
    const share = (time - from) / (to - from);
    this.set({ from: time - share * length, to: time + (1 - share) * length });
  }

  // A key is held: 1 to the right, closer.
  hold(pan: number, zoom: number, time?: number) {
    if (this.pan === 0 && this.zoomBy === 0) this.last = 0;
    this.pan = pan;
    this.zoomBy = zoom;
    this.zoomAt = time;
    this.changed();
  }

  // Whether there is more to come.
  advance(now: number): boolean {
    const passed = this.last === 0 ? 16 : Math.min(64, now - this.last);
    this.last = now;
    if (this.pan !== 0 || this.zoomBy !== 0) {
      const share = (passed / 1000) * kSpeed;
      if (this.pan !== 0) this.panBy(this.pan * share * this.width);
      if (this.zoomBy !== 0)
        this.zoom(Math.exp(-2.4 * this.zoomBy * share), this.zoomAt ?? (this.view.from + this.view.to) / 2);
      return true;
    }
    if (this.target === this.view) {
      this.last = 0;
      return false;
    }
    const done = 1 - Math.exp(-passed / kGlide);
    const next = {
      from: this.view.from + (this.target.from - this.view.from) * done,
      to: this.view.to + (this.target.to - this.view.to) * done,
    };
    const pixel = (this.target.to - this.target.from) / this.width;
    const there = Math.abs(next.from - this.target.from) < pixel / 2 && Math.abs(next.to - this.target.to) < pixel / 2;
    this.view = there ? this.target : next;
    if (there) this.last = 0;
    return !there;
  }

  private bounded({ from, to }: Span): Span {
    const whole = Math.max(this.all.to - this.all.from, kShortest);
    const length = Math.min(Math.max(to - from, kShortest), whole * 1.5);
    const [first, last] = [this.all.from - kBeyond * length, this.all.to + kBeyond * length];
    const begin = Math.min(Math.max(from, first), last - length);
    return { from: begin, to: begin + length };
  }
}
