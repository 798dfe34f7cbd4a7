// Tables of words of `tprof stats`, one below the other, as they come: for views that need no more.
import { useTable } from "../data/documents";
import { DataTable } from "../table/table";
import { Loading, Panel } from "../widgets";
import { pointerOf } from "../worker";

export function WordTable({
  word,
  part,
  title,
  worker,
  empty,
}: {
  word: string;
  part?: string;
  title: string;
  worker: number;
  empty?: string;
}) {
  const pointer = pointerOf(word, worker);
  const table = useTable(pointer && (part ? `${pointer}/${part}` : pointer));
  const id = part ? `${word}.${part}` : word;
  return (
    <Panel title={title}>
      {!pointer ? (
        <p class="empty">{empty}</p>
      ) : !table ? (
        <Loading />
      ) : (
        <DataTable table={table} id={id} label={title} empty={empty} />
      )}
    </Panel>
  );
}
