import { LOCAL_URLS } from '../../config/create-model.ts';
import type { LoadedConfig } from '../../config/load.ts';
import { sessionName } from '../../engine/commands/session-line.ts';
import { counted } from '../../messages/english-format.ts';
import type { SessionRecord } from '../../store/port/store.ts';
import { isObject } from '../../transcript/json.ts';
import { saidBy } from '../backend/home.ts';

const OFFLINE =
  'Model: offline, a small built-in program for trying things out. It needs no network and understands nothing.';
const KEYS = 'To use a real model, set ANTHROPIC_API_KEY or OPENAI_API_KEY.';
const TRY = 'Try: my name is Ada. Then: what is my name?';
const HELP = '/help lists commands, /quit ends the chat. Start a message with // to send a leading slash.';
/** A closed port is refused at once; the limit is for a busy machine. */
const LOOK_MS = 2000;

/** The first chat in a home: where messages are stored, which model answers, and what to type. */
export async function firstLines(
  loaded: LoadedConfig,
  { isKept }: { readonly isKept: boolean },
): Promise<string[]> {
  return [
    whereLine(loaded, isKept),
    [whoLine(loaded), ...(await localModels(loaded))].join(' '),
    `${TRY} ${HELP}`,
  ];
}

/** Later chats: which session resumes, and which model answers. */
export function laterLines(loaded: LoadedConfig, record: SessionRecord): string[] {
  const lines = [whichLine(record), whoLine(loaded)];
  if (record.corruptAt !== undefined)
    lines.push('This session is damaged and read-only. /repair copies what can be read into a new session.');
  return lines;
}

function whichLine(record: SessionRecord): string {
  const { turnCount, label } = record;
  if (turnCount > 0) return `Restored: ${counted(turnCount, 'previous turn')} of "${sessionName(record)}".`;
  return label === undefined ? 'A new session.' : `A new session: "${label}".`;
}

function whereLine({ config, origins }: LoadedConfig, isKept: boolean): string {
  if (!isKept) return 'Nothing in this chat is stored.';
  return `Messages are stored in ${config.home} (${saidBy(origins.get('home')?.name ?? 'default')}).`;
}

function whoLine({ config: { model }, origins }: LoadedConfig): string {
  const { source, name } = origins.get('model') ?? { source: 'default', name: 'default' };
  if (model === 'offline') return source === 'default' ? `${OFFLINE} ${KEYS}` : OFFLINE;
  return `Model: ${model} (${source === 'default' ? `${name} is set` : `from ${name}`}).`;
}

/** Suggests model servers on this machine. They are used only when the user names them. */
async function localModels({ config, origins }: LoadedConfig): Promise<string[]> {
  if (config.model !== 'offline' || origins.get('model')?.source !== 'default') return [];
  const looks = [...LOCAL_URLS].map(async ([provider, url]) => {
    const configured = new Map(Object.entries(config.models)).get(provider)?.baseURL;
    const id = await firstModel(configured ?? url);
    return id === undefined
      ? []
      : [`Found ${provider} on this machine. To use it: --model ${provider}:${id}`];
  });
  return (await Promise.all(looks)).flat();
}

async function firstModel(url: string): Promise<string | undefined> {
  try {
    const response = await fetch(`${url}/models`, {
      signal: AbortSignal.timeout(LOOK_MS),
      redirect: 'error',
    });
    const answer: unknown = await response.json();
    const [first]: unknown[] = isObject(answer) && Array.isArray(answer['data']) ? answer['data'] : [];
    return isObject(first) && typeof first['id'] === 'string' ? first['id'] : undefined;
  } catch {
    return undefined; // no server on this port, or another program: both are normal
  }
}
