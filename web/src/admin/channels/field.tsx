import type { JSX } from 'preact';

export interface FieldProps {
  readonly label: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
}

/** A filter that acts as it is typed. */
export function Field({ label, value, onChange }: FieldProps): JSX.Element {
  return (
    <input
      type="search"
      placeholder={label}
      aria-label={label}
      value={value}
      onInput={(event) => onChange(event.currentTarget.value)}
    />
  );
}
