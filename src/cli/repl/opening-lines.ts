import { LOCAL_URLS } from '../../config/create-model.ts';
import type { LoadedConfig } from '../../config/load.ts';
import { sessionName } from '../../engine/commands/session-line.ts';
import { counted } from '../../messages/english-format.ts';
import type { SessionRecord } from '../../store/port/store.ts';
import { isObject } from '../../transcript/json.ts';
import { saidBy } from '../backend/home.ts';

const OFFLINE = 'offline answers: a small program, without network and without understanding.';
const KEYS = 'For a model set ANTHROPIC_API_KEY or OPENAI_API_KEY.';
const TRY = 'Try: my name is Ada. Then: what is my name?';
const HELP = '/help lists commands, /quit ends; // begins a message with a slash';
/** Where nobody listens the answer is there at once; this is for a machine that is busy. */
const LOOK_MS = 2000;

/** Where everything is, who answers, what to type: what somebody needs who sees this for the first time. */
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

/** What somebody needs who was here before. */
export function laterLines(loaded: LoadedConfig, record: SessionRecord): string[] {
  const lines = [whichLine(record), whoLine(loaded)];
  if (record.corruptAt !== undefined)
    lines.push('This session is damaged and can only be read: /repair goes on with what is readable.');
  return lines;
}

function whichLine(record: SessionRecord): string {
  const { turnCount, label } = record;
  if (turnCount > 0) return `Restored: ${counted(turnCount, 'previous turn')} of "${sessionName(record)}".`;
  return label === undefined ? 'A new session.' : `A new session: "${label}".`;
}

function whereLine({ config, origins }: LoadedConfig, isKept: boolean): string {
  if (!isKept) return 'Nothing said here is kept.';
  return `Everything said here is kept in ${config.home} (${saidBy(origins.get('home')?.name ?? 'default')}).`;
}

function whoLine({ config: { model }, origins }: LoadedConfig): string {
  const { source, name } = origins.get('model') ?? { source: 'default', name: 'default' };
  if (model === 'offline') return source === 'default' ? `${OFFLINE} ${KEYS}` : OFFLINE;
  return `${model} answers (${source === 'default' ? `${name} is set` : `from ${name}`}).`;
}

/** What runs on this machine is named, and used only when somebody asks for it. */
async function localModels({ config, origins }: LoadedConfig): Promise<string[]> {
  if (config.model !== 'offline' || origins.get('model')?.source !== 'default') return [];
  const looks = [...LOCAL_URLS].map(async ([provider, url]) => {
    const configured = new Map(Object.entries(config.models)).get(provider)?.baseURL;
    const id = await firstModel(configured ?? url);
    return id === undefined
      ? []
      : [`There is ${provider} on this machine: --model ${provider}:${id} asks it.`];
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
    return undefined; // nobody there, or somebody else: both are usual
  }
}
