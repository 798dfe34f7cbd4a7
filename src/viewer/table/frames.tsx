// Call stacks: a frame a line; one with a file and a line opens in an editor.
import type { Cell } from "../data/unpack";
import { Said, source } from "../figure";
import { useParams } from "../state";

// By the word in the address (#editor=idea). Nothing else becomes a link: an address may come from anybody.
export const kEditors: Record<string, { title: string; url: (path: string, line: string) => string }> = {
  vscode: { title: "Visual Studio Code", url: (path, line) => `vscode://file/${path.replace(/^\//, "")}:${line}` },
  vscodium: { title: "VSCodium", url: (path, line) => `vscodium://file/${path.replace(/^\//, "")}:${line}` },
  cursor: { title: "Cursor", url: (path, line) => `cursor://file/${path.replace(/^\//, "")}:${line}` },
  idea: {
    title: "IntelliJ, PyCharm",
    url: (path, line) => `idea://open?file=/${path.replace(/^\//, "")}&line=${line}`,
  },
  sublime: {
    title: "Sublime Text",
    url: (path, line) => `subl://open?url=file:///${path.replace(/^\//, "")}&line=${line}`,
  },
};

// "/home/me/train.py(12): step", as torch names frames.
const kFrame = /^(\/.+|[A-Za-z]:\\.+)\((\d+)\): (.*)$/;

function useEditor(): (path: string, line: string) => string {
  const { params } = useParams();
  const editor = kEditors[params.editor] ?? kEditors.vscode;
  return (path, line) => editor.url(path.split("/").map(encodeURIComponent).join("/"), line);
}

// The innermost frame that is no library's, in one line; the rest is left to Frames.
export function BriefFrame({ stack, at, options }: { stack: Cell; at: string; options?: string }) {
  const link = useEditor();
  if (!stack) return <Said at={at} text={stack === null ? null : ""} options={options} />; // labels have none
  const frames = String(stack).split(";");
  const own = frames.find(
    (frame) => kFrame.test(frame) && !/\/(site|dist)-packages\/|\/lib\/python\d|<frozen /.test(frame),
  );
  const frame = own ?? frames[0];
  const found = kFrame.exec(frame);
  const short = found
    ? `${found[1]
        .split(/[\/\\]/)
        .slice(-2)
        .join("/")}(${found[2]}): ${found[3]}`
    : frame;
  const text = `…${short}`;
  return (
    <bdi
      class="frames"
      {...source(at, options)}
      data-value={JSON.stringify(stack)}
      title={frames.join("\n").slice(0, 4000)}>
      {found ? <a href={link(found[1], found[2])}>{text}</a> : text}
    </bdi>
  );
}

// A frame alone, whatever it is; one with a file and a line is a link.
export function SourceLine({ frame }: { frame: string }) {
  const link = useEditor();
  const found = kFrame.exec(frame);
  if (!found) return <bdi>{frame}</bdi>;
  const [, file, line, what] = found;
  return (
    <bdi>
      <a href={link(file, line)}>
        {file}({line})
      </a>
      : {what}
    </bdi>
  );
}

// `at`: none of a slice of the timeline, which is in no document.
export function Frames({ stack, at, options }: { stack: Cell; at?: string; options?: string }) {
  const link = useEditor();
  // Labels have none.
  if (!stack) return at ? <Said at={at} text={stack === null ? null : ""} options={options} /> : null;
  return (
    <ol class="frames" {...(at ? { ...source(at, options), "data-value": JSON.stringify(stack) } : {})}>
      {String(stack)
        .split(";")
        .map((frame) => {
          const found = kFrame.exec(frame);
          if (!found)
            return (
              <li>
                <bdi>{frame}</bdi>
              </li>
            );
          const [, file, line, what] = found;
          // The directory of the packages, which many frames have in common.
          const own = /^.*\/(site-packages|dist-packages|lib\/python\d[\d.]*)(?=\/)/.exec(file)?.[0].length ?? 0;
          return (
            <li>
              <bdi>
                <a href={link(file, line)}>
                  <span class="muted">{file.slice(0, own)}</span>
                  {file.slice(own)}({line})
                </a>
                : {what}
              </bdi>
            </li>
          );
        })}
    </ol>
  );
}
