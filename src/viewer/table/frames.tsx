// Call stacks: a frame a line; one with a file and a line opens in an editor.
import type { Cell } from "../data/unpack";
import { Said } from "../figure";
import { useParams } from "../state";

// By the word in the address (#editor=idea). Nothing else becomes a link: an address may come from anybody.
export const kEditors: Record<string, { title: string; url: (path: string, line: string) => string }> = {
  vscode: { title: "Visual Studio Code", url: (path, line) => `vscode://file/${path.replace(/^\//, "")}:${line}` },
  vscodium: { title: "VSCodium", url: (path, line) => `vscodium://file/${path.replace(/^\//, "")}:${line}` },
  cursor: { title: "Cursor", url: (path, line) => `cursor://file/${path.replace(/^\//, "")}:${line}` },
  idea: { title: "IntelliJ, PyCharm", url: (path, line) => `idea://open?file=/${path.replace(/^\//, "")}&line=${line}` },
  sublime: { title: "Sublime Text", url: (path, line) => `subl://open?url=file:///${path.replace(/^\//, "")}&line=${line}` },
};

export function Frames({ stack, at }: { stack: Cell; at: string }) {
  const { params } = useParams();
  if (!stack) return <Said at={at} text={stack === null ? null : ""} />;  // labels have none
  const editor = kEditors[params.editor] ?? kEditors.vscode;
  return (
    <ol class="frames" data-figure={at} data-value={JSON.stringify(stack)}>
      {String(stack).split(";").map((frame) => {
        const found = /^(\/.+|[A-Za-z]:\\.+)\((\d+)\): (.*)$/.exec(frame);
        if (!found) return <li><bdi>{frame}</bdi></li>;
        const [, file, line, what] = found;
        const own = file.lastIndexOf("/site-packages/") + 1;  // what stands before it is the same in all frames
        const path = file.split("/").map(encodeURIComponent).join("/");
        return (
          <li>
            <bdi><a href={editor.url(path, line)}><span class="muted">{file.slice(0, own)}</span>{file.slice(own)}({line})</a>: {what}</bdi>
          </li>
        );
      })}
    </ol>
  );
}
