// Small controls that several views use.
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

// A button with a box below it, which a click elsewhere or Escape closes.
export function Menu({ label, children }: { label: string; children: ComponentChildren }) {
  const [open, setOpen] = useState(false);
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (!open) return;
    const elsewhere = (e: Event) => {
      if (!box.current?.contains(e.target as Node)) setOpen(false);
    };
    const escape = (e: KeyboardEvent) => e.key === "Escape" && setOpen(false);
    addEventListener("pointerdown", elsewhere);
    addEventListener("keydown", escape);
    return () => {
      removeEventListener("pointerdown", elsewhere);
      removeEventListener("keydown", escape);
    };
  }, [open]);
  return (
    <div class="menu" ref={box}>
      <button type="button" aria-expanded={open} onClick={() => setOpen(!open)}>
        {label} <span aria-hidden="true">▾</span>
      </button>
      {open && (
        <div class="menu-box" role="group" aria-label={label}>
          {children}
        </div>
      )}
    </div>
  );
}

interface ChoiceProps {
  label: string;
  value: string;
  options: [string, string][]; // value, text
  onChange: (value: string) => void;
}

// One of a few, all in sight.
export function Switch({ label, value, options, onChange }: ChoiceProps) {
  return (
    <div class="switch" role="group" aria-label={label}>
      {options.map(([key, text]) => (
        <button type="button" key={key} aria-pressed={key === value} onClick={() => onChange(key)}>
          {text}
        </button>
      ))}
    </div>
  );
}

export function Select({ label, value, options, onChange }: ChoiceProps) {
  return (
    <label class="select">
      <span>{label}</span>
      <select value={value} onChange={(e) => onChange(e.currentTarget.value)}>
        {options.map(([key, text]) => (
          <option value={key} selected={key === value}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
}

export function Panel({
  title,
  aside,
  children,
  name,
}: {
  title: string;
  aside?: ComponentChildren;
  children: ComponentChildren;
  name?: string;
}) {
  return (
    <section class={name ? `panel ${name}` : "panel"} aria-label={title}>
      <header>
        <h2>{title}</h2>
        {aside}
      </header>
      {children}
    </section>
  );
}

// The width of an element, as it is now.
export function useWidth(otherwise: number): [(element: HTMLElement | null) => void, number] {
  const [element, setElement] = useState<HTMLElement | null>(null);
  const [width, setWidth] = useState(otherwise);
  useEffect(() => {
    if (!element) return;
    const resized = new ResizeObserver(() => setWidth(element.clientWidth));
    resized.observe(element);
    return () => resized.disconnect();
  }, [element]);
  return [setElement, width];
}

// Whether the page is dark, by #theme or as the system is.
export function useDark(theme: string | undefined): boolean {
  const media = matchMedia("(prefers-color-scheme: dark)");
  const [system, set] = useState(media.matches);
  useEffect(() => {
    const changed = () => set(media.matches);
    media.addEventListener("change", changed);
    return () => media.removeEventListener("change", changed);
  }, []);
  return theme ? theme === "dark" : system;
}

export function Loading() {
  return (
    <p class="loading" aria-busy="true">
      Opening
    </p>
  );
}

// A number that is taken over when one has finished writing it; shown to three decimals.
export function NumberField({
  label,
  value,
  onChange,
}: {
  label: string;
  value: number;
  onChange: (value: number) => void;
}) {
  return (
    <label class="select">
      <span>{label}</span>
      <input
        type="number"
        step="any"
        value={Math.round(value * 1e3) / 1e3}
        onChange={(e) => e.currentTarget.value !== "" && onChange(e.currentTarget.valueAsNumber)}
      />
    </label>
  );
}
