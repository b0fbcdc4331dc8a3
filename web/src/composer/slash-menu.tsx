import type { JSX } from 'preact';
import type { CommandView } from 'reprise/client';
import { messageText } from '../i18n/strings.ts';

export interface SlashMenuProps {
  readonly offers: readonly CommandView[];
  readonly chosen: number;
  readonly onPick: (name: string) => void;
}

export function SlashMenu({ offers, chosen, onPick }: SlashMenuProps): JSX.Element {
  return (
    <div class="slash" id="slash-menu" role="listbox" aria-label="/">
      {offers.map(({ name, args, help }, i) => (
        <div
          key={name}
          id={`slash-${i}`}
          role="option"
          tabIndex={-1}
          aria-selected={i === chosen}
          ref={(element) => {
            if (i === chosen) element?.scrollIntoView({ block: 'nearest' });
          }}
          onClick={() => onPick(name)}
        >
          <b>/{name}</b> <code>{args}</code>
          <span>{messageText({ code: 'help.about', params: { about: name } }) ?? help}</span>
        </div>
      ))}
    </div>
  );
}
