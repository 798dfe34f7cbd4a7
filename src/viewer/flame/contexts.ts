// The tree of contexts that a flame graph shows, with what each cost; [0] is all of them together, or the function
// whose callers or callees they are.
//
// Costs are additive: each is given to one context, so whatever is hidden, merged or turned over, sums stay right.
import type { Frame } from "./frame";

export class Contexts {
  readonly parent: number[] = [-1];
  readonly frame: number[]; // index into frames; -1: of all together
  readonly self: number[][]; // by cost, by context
  total: Float64Array[] = []; // by cost, by context; known after sumUp()
  private readonly places = new Map<number, number>();

  constructor(
    readonly frames: Frame[],
    readonly costs: string[], // keys of columns
    top = -1,
  ) {
    this.frame = [top];
    this.self = costs.map(() => [0]);
  }

  get n(): number {
    return this.parent.length;
  }

  // The context of a frame below another one.
  child(parent: number, frame: number): number {
    const place = parent * this.frames.length + frame;
    let at = this.places.get(place);
    if (at === undefined) {
      at = this.n;
      this.places.set(place, at);
      this.parent.push(parent);
      this.frame.push(frame);
      for (const self of this.self) self.push(0);
    }
    return at;
  }

  sumUp(): this {
    this.total = this.self.map((self) => {
      const total = Float64Array.from(self);
      for (let i = this.n - 1; i > 0; i--) total[this.parent[i]] += total[i];
      return total;
    });
    return this;
  }

  children(): number[][] {
    const out: number[][] = Array.from({ length: this.n }, () => []);
    for (let i = 1; i < this.n; i++) out[this.parent[i]].push(i);
    return out;
  }

  // Frames from the top to a context.
  path(at: number): Frame[] {
    const out: Frame[] = [];
    for (let i = at; i >= 0 && this.frame[i] >= 0; i = this.parent[i]) out.unshift(this.frames[this.frame[i]]);
    return out;
  }

  // All contexts turned over: the innermost frame first. What is called "self" is then where a stack began.
  inverted(): Contexts {
    const out = new Contexts(this.frames, this.costs);
    for (let i = 1; i < this.n; i++) {
      if (this.self.every((self) => self[i] === 0)) continue;
      let at = 0;
      for (let up = i; up > 0; up = this.parent[up]) at = out.child(at, this.frame[up]);
      this.self.forEach((self, cost) => (out.self[cost][at] += self[i]));
    }
    this.self.forEach((self, cost) => (out.self[cost][0] += self[0]));
    return out.sumUp();
  }

  // Contexts in which a frame is on the stack for the first time: no moment counts twice.
  outermost(frame: number): number[] {
    const inside = new Uint8Array(this.n);
    const out: number[] = [];
    for (let i = 1; i < this.n; i++) {
      inside[i] = inside[this.parent[i]];
      if (inside[i] || this.frame[i] !== frame) continue;
      inside[i] = 1;
      out.push(i);
    }
    return out;
  }

  // What called a function, from it upwards.
  callers(frame: number): Contexts {
    const out = new Contexts(this.frames, this.costs, frame);
    for (const found of this.outermost(frame)) {
      let at = 0;
      for (let up = this.parent[found]; up > 0; up = this.parent[up]) at = out.child(at, this.frame[up]);
      this.total.forEach((total, cost) => (out.self[cost][at] += total[found]));
    }
    return out.sumUp();
  }

  // What a function called.
  callees(frame: number): Contexts {
    const out = new Contexts(this.frames, this.costs, frame);
    const place = new Int32Array(this.n).fill(-1);
    for (const found of this.outermost(frame)) place[found] = 0;
    for (let i = 1; i < this.n; i++) {
      const above = place[this.parent[i]];
      if (place[i] < 0 && above < 0) continue;
      if (place[i] < 0) place[i] = out.child(above, this.frame[i]);
      this.self.forEach((self, cost) => (out.self[cost][place[i]] += self[i]));
    }
    return out.sumUp();
  }

  // By frame: its own costs, and those of all contexts that it is in, each once.
  functions(): { frame: number; self: number[]; total: number[] }[] {
    const rows = this.frames.map((_, frame) => ({
      frame,
      self: this.costs.map(() => 0),
      total: this.costs.map(() => 0),
      seen: false,
    }));
    const open = new Int32Array(this.frames.length); // how often each frame is on the current stack
    const children = this.children();
    const todo: number[] = [...children[0]];
    while (todo.length > 0) {
      const at = todo.pop()!;
      if (at < 0) {
        open[this.frame[~at]]--;
        continue;
      }
      const row = rows[this.frame[at]];
      row.seen = true;
      this.self.forEach((self, cost) => (row.self[cost] += self[at]));
      if (open[this.frame[at]]++ === 0) this.total.forEach((total, cost) => (row.total[cost] += total[at]));
      todo.push(~at);
      for (const child of children[at]) todo.push(child);
    }
    return rows.filter((row) => row.seen);
  }

  // What of a cost is in contexts with a frame that is looked for.
  matched(matches: boolean[], cost: number): number {
    const inside = new Uint8Array(this.n);
    let sum = 0;
    for (let i = 1; i < this.n; i++) {
      inside[i] = inside[this.parent[i]];
      if (inside[i] || !matches[this.frame[i]]) continue;
      inside[i] = 1;
      sum += this.total[cost][i];
    }
    return sum;
  }
}
