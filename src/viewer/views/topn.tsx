// All, or the N largest: which slices the rings show, as in the plugin.
import { Switch } from "../widgets";

export function TopN({ value, onChange, what }: { value: string; onChange: (value: string) => void; what: string }) {
  const all = value === "all";
  return (
    <div class="topn">
      <Switch
        label={`Which ${what} the rings show`}
        value={all ? "all" : "top"}
        options={[
          ["all", `All ${what}`],
          ["top", `Top ${what}`],
        ]}
        onChange={(v) => onChange(v === "all" ? "all" : "10")}
      />
      {!all && (
        <input
          type="number"
          min="1"
          aria-label={`How many ${what} the rings show`}
          value={value}
          onInput={(e) =>
            Number(e.currentTarget.value) >= 1 && onChange(String(Math.floor(Number(e.currentTarget.value))))
          }
        />
      )}
    </div>
  );
}
