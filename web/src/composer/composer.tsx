import { useComputed, useSignal, useSignalEffect } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import { attempt } from '../api/api.ts';
import { commands, isCommand, loadCommands, matchingCommands } from '../conversation/commands.ts';
import type { Conversation } from '../conversation/conversation.ts';
import { loadDraft, saveDraft, saveEdit } from '../conversation/drafts.ts';
import { editingOf, startEditing } from '../conversation/editing.ts';
import type { Picture } from '../conversation/pending.ts';
import { runCommand } from '../conversation/steps.ts';
import { t } from '../i18n/strings.ts';
import { go } from '../shell/route.ts';
import { say } from '../shell/toasts.ts';
import { Icon } from '../ui/icon.tsx';
import { Attachments } from './attachments.tsx';
import { ModelPicker } from './model-picker.tsx';
import { type FileRefusal, readFiles } from './read-files.ts';
import { SlashMenu } from './slash-menu.tsx';
import { useFileDrop } from './use-file-drop.ts';

const REFUSED = { size: 'fileTooLarge', type: 'fileNoText', empty: 'fileEmpty' } as const satisfies Record<
  FileRefusal['why'],
  string
>;

export interface ComposerProps {
  readonly conversation: Conversation;
}

export function Composer({ conversation }: ComposerProps): JSX.Element {
  const { draftKey, isClosed } = conversation;
  const editing = editingOf(conversation);
  const text = useSignal(editing.value?.text ?? loadDraft(draftKey));
  const pictures = useSignal<readonly Picture[]>([]);
  const chosen = useSignal(0);
  const field = useRef<HTMLTextAreaElement>(null);
  const isMenuClosed = useSignal(false);
  const isOver = useSignal(false);
  const offers = useComputed(() =>
    isMenuClosed.value ? undefined : matchingCommands(text.value, commands.value),
  );
  const isLive = conversation.live.value !== undefined;
  const hasNewer = conversation.history.hasNewer.value;

  const write = (value: string): void => {
    text.value = value;
    chosen.value = 0;
    isMenuClosed.value = false;
    // While a message is edited, the draft of the new message is kept.
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
  // The field grows with the text, up to the maximum height in the style sheet.
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
      // Starts the request before clearing the field, so that the text is never lost (I-71).
      conversation.sendInstead(edit);
      conversation.showEnd();
      endEditing();
      return;
    }
    const images = pictures.value;
    text.value = '';
    pictures.value = [];
    if (isCommand(said) && conversation.state.value === 'ready') {
      saveDraft(draftKey, '');
      const isDone = await runCommand(conversation, said);
      if (!isDone && text.value === '') write(said);
      return;
    }
    const isNew = conversation.state.value === 'new';
    conversation.send(said, images);
    conversation.showEnd();
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
    const list = offers.value ?? [];
    if (list.length > 0) {
      const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
      if (step !== 0) {
        event.preventDefault();
        chosen.value = (chosen.value + step + list.length) % list.length;
        return;
      }
      if (event.key === 'Escape') {
        event.preventDefault();
        isMenuClosed.value = true;
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
    // Copy the list now: clearing the field empties it.
    const list = [...files];
    void attempt(async () => {
      const read = await readFiles(list);
      pictures.value = [...pictures.value, ...read.pictures];
      if (read.texts.length > 0)
        write([text.value.trimEnd(), ...read.texts].filter((part) => part !== '').join('\n\n'));
      for (const { name, why } of read.refused) say(t(REFUSED[why], name), { kind: 'error' });
    });
  };
  useFileDrop({
    isOver,
    onFiles: (files) => {
      if (!isClosed) addFiles(files);
    },
  });
  const waiting = conversation.queued.value;
  const hasOffers = (offers.value?.length ?? 0) > 0;
  return (
    <form
      class="composer"
      onSubmit={(event) => {
        event.preventDefault();
        void submit();
      }}
    >
      {isOver.value && (
        <p class="drop" role="status">
          {t('dropHere')}
        </p>
      )}
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
      {hasOffers && <SlashMenu offers={offers.value ?? []} chosen={chosen.value} onPick={pick} />}
      {pictures.value.length > 0 && (
        <Attachments
          pictures={pictures.value}
          onRemove={(name) => {
            pictures.value = pictures.value.filter((one) => one.name !== name);
          }}
        />
      )}
      <div class="box">
        <div class="line">
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
        </div>
        <div class="line tools">
          <label class="button quiet attach" title={t('attach')}>
            <Icon name="image" />
            <input
              type="file"
              multiple
              aria-label={t('attach')}
              disabled={isClosed}
              onChange={(event) => {
                addFiles(event.currentTarget.files);
                event.currentTarget.value = '';
              }}
            />
          </label>
          {!isClosed && <ModelPicker conversation={conversation} />}
          <span class="space" />
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
      </div>
    </form>
  );
}
