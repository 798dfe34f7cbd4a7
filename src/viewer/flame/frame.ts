// One frame of a flame graph: what it is called, what kind it is, and which library it belongs to.
export interface Frame {
  key: string; // the same for frames that are one: kind and name
  name: string; // as it was recorded; of several lines of a function the first one met
  label: string; // on a bar
  kind: string; // as --json has it; "left_out": contexts that are not in the page
  library: string;
}

// "/home/me/train.py(12): step", as torch names Python frames, and native ones of which the line is known.
const kLine = /^(.*)\((\d+)\): (.*)$/s;
const kPackages = /^.*[\/\\](?:site-packages|dist-packages)[\/\\]([^\/\\]+)/;
const kKinds: Record<string, string> = {
  step: "steps",
  label: "user annotations",
  call: "CUDA calls",
  kernel: "kernels",
  copy: "copies",
  set: "memory sets",
  graph: "CUDA graphs",
  outside: "outside",
  left_out: "left out",
};

export const kFrameKinds: Record<string, string> = {
  python: "Python function",
  native: "Native function",
  module: "nn.Module",
  op: "Operator",
  label: "User annotation",
  step: "Step",
  call: "CUDA call",
  kernel: "Kernel",
  copy: "Copy",
  set: "Memory set",
  graph: "CUDA graph",
  outside: "Outside of all contexts",
  left_out: "Left out of the page",
};

// `lines`: each line of a function is a frame of its own.
export function frameOf(name: string, kind: string, lines: boolean): Frame {
  const framed = kind === "python" || kind === "native";
  const found = framed ? kLine.exec(name) : null;
  const text = found && !lines ? `${found[1]}: ${found[3]}` : name;
  return {
    key: `${kind} ${text}`,
    name,
    label: labelOf(name, kind, found, lines),
    kind,
    library: libraryOf(name, kind, found),
  };
}

function labelOf(name: string, kind: string, found: RegExpExecArray | null, lines: boolean): string {
  if (found) {
    const file = found[1].split(/[\/\\]/).pop()!;
    return `${found[3]}  ${lines ? `${file}:${found[2]}` : file}`;
  }
  if (kind === "native") return name.replace(/^[^:]*\/([^\/]+: )/, "$1").replace(/^([^:]+): (.+)$/s, "$2  $1");
  if (kind === "module") return name.replace(/^nn\.Module: /, "");
  if (kind === "kernel") return name.replace(/^void /, "").replace(/\(anonymous namespace\)::/g, "");
  return name;
}

function libraryOf(name: string, kind: string, found: RegExpExecArray | null): string {
  if (kind in kKinds) return kKinds[kind];
  if (kind === "op") return /^([\w-]+)::/.exec(name)?.[1] ?? (/Backward\d*$/.test(name) ? "autograd" : "operators");
  if (kind === "module") return name.replace(/^nn\.Module: /, "").replace(/_\d+$/, "");
  if (kind === "native") {
    const image = /^([^:]+?)(?:\+0x[\da-f]+$|: )/.exec(name);
    return (found ? found[1] : image ? image[1] : "native")
      .split(/[\/\\]/)
      .pop()!
      .replace(/\.so[\d.]*$/, ".so");
  }
  const file = found ? found[1] : name;
  const own = kPackages.exec(file);
  if (own) return own[1].replace(/\.py$/, "");
  if (/[\/\\]lib[\/\\]python\d|<frozen |^<built-in|<string>/.test(file)) return "Python";
  return /^torch[\/\\]/.test(file) ? "torch" : "program";
}

// The function's own name, by which tables and the timeline find it.
export function searchName(frame: Frame): string {
  const found = kLine.exec(frame.name);
  return found && (frame.kind === "python" || frame.kind === "native") ? found[3] : frame.name;
}
