// Names as they fit into bars, measured once each.
import { shortName } from "../format";

const kFewest = 3; // letters; less says nothing

export class Names {
  private readonly widths = new Map<string, number>();
  private readonly shorts = new Map<string, string>();
  private family = "";

  font(family: string): string {
    if (family !== this.family) this.forget();
    this.family = family;
    return `11px ${family}`;
  }

  forget() {
    this.widths.clear();
  }

  fitted(context: CanvasRenderingContext2D, whole: string, room: number): string {
    let name = this.shorts.get(whole);
    // What turns the direction of a text, or breaks it, has no place in a bar; nor has what never fits.
    if (name === undefined)
      this.shorts.set(
        whole,
        (name = shortName(whole)
          .slice(0, 400)
          .replace(/[\u0000-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g, " ")),
      );
    let width = this.widths.get(name);
    if (width === undefined) this.widths.set(name, (width = context.measureText(name).width));
    if (width <= room) return name;
    const letters = Math.floor((name.length * (room - 8)) / width);
    return letters < kFewest ? "" : name.slice(0, letters) + "…";
  }
}
