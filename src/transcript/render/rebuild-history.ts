import { canonicalEntries } from '../dialects/canonical.ts';
import type { Entry } from '../entry.ts';
import { IssueLog } from '../issues.ts';
import type { JsonObject } from '../json.ts';
import type { ProjectedMessage } from './conversation.ts';
import { type ProjectOptions, project } from './project.ts';
import { type AiSdkMessage, renderAiSdk } from './render-ai-sdk.ts';
import { type AnthropicMessage, renderAnthropic } from './render-anthropic.ts';
import { type OpenAiMessage, renderOpenAi } from './render-openai.ts';
import type { ProviderFamily, Target } from './target.ts';

/** The message types of each format. */
export interface HistoryFormats {
  readonly anthropic: AnthropicMessage;
  readonly openai: OpenAiMessage;
  readonly 'ai-sdk': AiSdkMessage;
}

export type HistoryFormat = keyof HistoryFormats;

export interface RebuildOptions<F extends HistoryFormat>
  extends Omit<ProjectOptions, 'target' | 'hoistImages'> {
  readonly format: F;
  /** Unset: the format's own family, with the session's current model. */
  readonly target?: Partial<Target> | undefined;
}

interface FormatRow<F extends HistoryFormat> {
  readonly family: ProviderFamily;
  /** Whether a tool result in this format can contain only text. */
  readonly hoistImages: boolean;
  readonly render: (messages: readonly ProjectedMessage[]) => HistoryFormats[F][];
}

const FORMATS: { readonly [F in HistoryFormat]: FormatRow<F> } = {
  anthropic: { family: 'anthropic', hoistImages: false, render: renderAnthropic },
  openai: { family: 'openai', hoistImages: true, render: renderOpenAi },
  'ai-sdk': { family: 'generic', hoistImages: true, render: renderAiSdk },
};

/** Converts stored records of any format to plain API messages, ready to send. */
export function rebuildHistory<F extends HistoryFormat>(
  records: readonly (Entry | JsonObject)[],
  { format, target, ...options }: RebuildOptions<F>,
): HistoryFormats[F][] {
  const { family, hoistImages, render } = FORMATS[format];
  const placed = records.map((record, i) => ({ record, seal: undefined, line: i + 1, offset: 0 }));
  const { entries } = canonicalEntries(placed, options.issues ?? new IssueLog());
  return render(project(entries, { ...options, hoistImages, target: { family, ...target } }).messages);
}
