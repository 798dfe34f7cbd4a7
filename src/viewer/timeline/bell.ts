// Something has happened: who listens is told. Parts of the view that show it render again, and nothing else does.
import { useEffect, useState } from "preact/hooks";

export class Bell {
  private readonly ears = new Set<() => void>();

  readonly ring = () => {
    for (const ear of this.ears) ear();
  };

  on(ear: () => void): () => void {
    this.ears.add(ear);
    return () => {
      this.ears.delete(ear);
    };
  }
}

// Renders when it rings; at most every `pause` ms.
export function useBell(bell: Bell, pause = 0) {
  const [, set] = useState(0);
  useEffect(() => {
    let waits = 0;
    const now = () => {
      waits = 0;
      set((n) => n + 1);
    };
    const off = bell.on(() => {
      if (pause === 0) now();
      else if (waits === 0) waits = window.setTimeout(now, pause);
    });
    return () => {
      off();
      clearTimeout(waits);
    };
  }, [bell, pause]);
}

// Of the timeline: what is in sight begins to move; it has changed; it has come to rest; something else is chosen; the
// pointer is elsewhere.
export interface Bells {
  moves: Bell;
  sight: Bell;
  settled: Bell;
  chosen: Bell;
  hover: Bell;
}
