import { useComputed, useSignal, useSignalEffect } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import { attempt } from '../stores/api.ts';
import { commands, isCommand, loadCommands, matchingCommands } from '../stores/commands.ts';
import type { Conversation } from '../stores/conversation.ts';
import { loadDraft, saveDraft, saveEdit } from '../stores/drafts.ts';
import type { Picture } from '../stores/pending.ts';
import { go } from '../stores/route.ts';
import { t } from '../strings.ts';
import { Icon } from '../ui/icon.tsx';
import { Later, preload } from '../ui/later.tsx';
import type { AttachmentsProps } from './attachments.tsx';
import { editingOf, startEditing } from './editing.ts';
import type { SlashMenuProps } from './slash-menu.tsx';
import { withSteps } from './steps-later.ts';

export interface ComposerProps {
  readonly conversation: Conversation;
}

const loadAttachments = (): Promise<(props: AttachmentsProps) => JSX.Element | null> =>
  import('./attachments.tsx').then(({ Attachments }) => Attachments);
const loadSlashMenu = (): Promise<(props: SlashMenuProps) => JSX.Element> =>
  import('./slash-menu.tsx').then(({ SlashMenu }) => SlashMenu);

export function Composer({ conversation }: ComposerProps): JSX.Element {
  const { draftKey, isClosed } = conversation;
  const editing = editingOf(conversation);
  const text = useSignal(editing.value?.text ?? loadDraft(draftKey));
  const pictures = useSignal<readonly Picture[]>([]);
  const chosen = useSignal(0);
  const field = useRef<HTMLTextAreaElement>(null);
  const offers = useComputed(() => matchingCommands(text.value, commands.value));
  const isLive = conversation.live.value !== undefined;
  const hasNewer = conversation.history.hasNewer.value;

  const write = (value: string): void => {
    text.value = value;
    chosen.value = 0;
    // The draft waits until what is being changed was said or left.
    if (editing.value === undefined) saveDraft(draftKey, value);
    else {
      editing.value = { ...editing.value, text: value };
      saveEdit(conversation.id, editing.value);
    }
    if (value.startsWith('/')) void loadCommands();
  };
  useSignalEffect(() => {
    if (editing.value === undefined) return;
    text.value = editing.value.text;
    field.current?.focus();
  });
  useSignalEffect(() => {
    const back = conversation.claimTakenBack();
    if (back === undefined) return;
    editing.value = undefined;
    write([back.text, loadDraft(draftKey)].join('\n\n').trim());
    pictures.value = [...back.images, ...pictures.peek()];
    field.current?.focus();
  });
  useEffect(() => {
    if (matchMedia('(pointer: fine)').matches) field.current?.focus();
  }, []);
  // As high as what was written, up to a bound the style sets.
  useLayoutEffect(() => {
    const element = field.current;
    if (element === null) return;
    element.style.height = 'auto';
    element.style.height = `${element.scrollHeight}px`;
  }, [text.value]);

  const endEditing = (): void => {
    editing.value = undefined;
    saveEdit(conversation.id, undefined);
    text.value = loadDraft(draftKey);
  };
  const submit = async (): Promise<void> => {
    const said = text.value;
    if (said.trim() === '' && pictures.value.length === 0) return;
    const edit = editing.value;
    if (edit !== undefined) {
      if (said.trim() === '') return;
      // On its way before the field is empty, and one request: whatever dies meanwhile, it is said or it is kept (I-71).
      conversation.sendInstead(edit);
      endEditing();
      return;
    }
    const images = pictures.value;
    text.value = '';
    pictures.value = [];
    if (isCommand(said) && conversation.state.value === 'ready') {
      saveDraft(draftKey, '');
      const isDone = await withSteps((steps) => steps.runCommand(conversation, said));
      if (isDone !== true && text.value === '') write(said);
      return;
    }
    const isNew = conversation.state.value === 'new';
    conversation.send(said, images);
    saveDraft(draftKey, '');
    if (hasNewer) void attempt(() => conversation.history.loadLatest());
    if (isNew) go({ view: 'session', agentId: conversation.agentId, sessionId: conversation.id });
  };

  const pick = (name: string): void => {
    write(`/${name} `);
    field.current?.focus();
  };

  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.isComposing) return;
    // Nothing is chosen of what is not in sight.
    const list = (document.getElementById('slash-menu') && offers.value) || [];
    if (list.length > 0) {
      const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
      if (step !== 0) {
        event.preventDefault();
        chosen.value = (chosen.value + step + list.length) % list.length;
        return;
      }
      const offer = list[chosen.value];
      const isWhole = list.some(({ name }) => `/${name}` === text.value);
      if (offer !== undefined && (event.key === 'Tab' || (event.key === 'Enter' && !isWhole))) {
        event.preventDefault();
        pick(offer.name);
        return;
      }
    }
    if (event.key === 'Enter' && !event.shiftKey) {
      event.preventDefault();
      void submit();
    } else if (event.key === 'Escape' && editing.value !== undefined) {
      event.preventDefault();
      endEditing();
    } else if (event.key === 'ArrowUp' && text.value === '' && !isLive && !hasNewer) {
      const last = conversation.history.rows.value.findLast(({ role }) => role === 'user');
      if (last !== undefined) {
        event.preventDefault();
        startEditing(conversation, last);
      }
    }
  };
  const addFiles = (files: FileList | null | undefined): void => {
    if (files == null || files.length === 0) return;
    // Now: the field is emptied behind this, and the list with it.
    const list = [...files];
    void withSteps(async ({ readPictures }) => {
      // With what shows them and takes them out again: nothing is sent unseen.
      const [read] = await Promise.all([readPictures(list), preload(loadAttachments)]);
      pictures.value = [...pictures.value, ...read];
    });
  };
  const waiting = conversation.queued.value;
  const hasOffers = (offers.value?.length ?? 0) > 0;
  return (
    <form
      class="composer"
      onSubmit={(event) => {
        event.preventDefault();
        void submit();
      }}
      onDragOver={(event) => event.preventDefault()}
      onDrop={(event) => {
        event.preventDefault();
        addFiles(event.dataTransfer?.files);
      }}
    >
      {waiting > 0 && (
        <p class="queue">
          {t('waiting', waiting)}
          <button
            type="button"
            onClick={() => void attempt(() => conversation.cancelWaiting())}
            aria-label={t('cancelWaiting')}
          >
            {t('cancel')}
          </button>
        </p>
      )}
      {editing.value !== undefined && (
        <p class="queue">
          {t('editing')}
          <button type="button" onClick={endEditing}>
            {t('cancel')}
          </button>
        </p>
      )}
      {hasOffers && (
        <Later load={loadSlashMenu} offers={offers.value ?? []} chosen={chosen.value} onPick={pick} />
      )}
      {pictures.value.length > 0 && (
        <Later
          load={loadAttachments}
          pictures={pictures.value}
          onRemove={(name) => {
            pictures.value = pictures.value.filter((one) => one.name !== name);
          }}
        />
      )}
      <div class="line">
        <label class="button quiet attach" title={t('attach')}>
          <Icon name="image" />
          <input
            type="file"
            accept="image/png,image/jpeg,image/gif,image/webp"
            multiple
            aria-label={t('attach')}
            disabled={isClosed}
            onChange={(event) => {
              addFiles(event.currentTarget.files);
              event.currentTarget.value = '';
            }}
          />
        </label>
        <textarea
          ref={field}
          rows={1}
          aria-label={t('message')}
          placeholder={t('writeHere')}
          value={text.value}
          disabled={isClosed}
          aria-autocomplete="list"
          aria-controls={hasOffers ? 'slash-menu' : undefined}
          aria-activedescendant={hasOffers ? `slash-${chosen.value}` : undefined}
          onInput={(event) => write(event.currentTarget.value)}
          onKeyDown={onKeyDown}
          onPaste={(event) => addFiles(event.clipboardData?.files)}
        />
        {isLive && (
          <button
            type="button"
            class="stop"
            aria-label={t('stop')}
            title={`${t('stop')} (Esc)`}
            onClick={() => void attempt(() => conversation.stop())}
          >
            <Icon name="stop" />
          </button>
        )}
        <button type="submit" class="primary" aria-label={t('send')} title={t('send')} disabled={isClosed}>
          <Icon name="send" />
        </button>
      </div>
    </form>
  );
}
