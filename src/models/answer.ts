import type {
  AssistantMessage,
  StopReason,
  TextBlock,
  ThinkingBlock,
  ToolCallBlock,
  Usage,
} from '../transcript/entry.ts';
import type { FinishEvent, Model, ModelEvent } from './model.ts';

type Block = TextBlock | ThinkingBlock | ToolCallBlock;

export interface AnswerEnd {
  readonly stopReason: StopReason;
  readonly usage?: Usage | undefined;
  readonly errorMessage?: string | undefined;
  readonly responseId?: string | undefined;
}

/**
 * Collects events into the message that they form. Models end their streams with it. After a broken stream, the
 * caller gets what had arrived: the text so far, and never half a call.
 */
export class Answer {
  readonly #blocks = new Map<number, Block>();

  take(event: ModelEvent): void {
    switch (event.type) {
      case 'text_delta': {
        const before = this.#blocks.get(event.block);
        const text = before?.type === 'text' ? before.text + event.text : event.text;
        this.#blocks.set(event.block, { type: 'text', text });
        break;
      }
      case 'thinking_delta':
        this.#think(event);
        break;
      case 'tool_call': {
        const { id, name, input, rawArguments, signature } = event;
        this.#blocks.set(event.block, {
          type: 'toolCall',
          id,
          name,
          arguments: input,
          ...(rawArguments !== undefined && { partialJson: rawArguments }),
          ...(signature !== undefined && { thoughtSignature: signature }),
        });
        break;
      }
      case 'retry':
      case 'finish':
        break;
      default:
        event satisfies never;
    }
  }

  get text(): string {
    let text = '';
    for (const block of this.content()) if (block.type === 'text') text += block.text;
    return text;
  }

  /** In the model's order, without the empty texts with which some models begin an answer. */
  content(): Block[] {
    const blocks = [...this.#blocks].sort(([a], [b]) => a - b).map(([, block]) => block);
    return blocks.filter((block) => block.type !== 'text' || block.text !== '');
  }

  message(
    { api, provider, id: model }: Pick<Model, 'api' | 'provider' | 'id'>,
    { stopReason, usage, errorMessage }: AnswerEnd,
  ): AssistantMessage {
    return {
      role: 'assistant',
      content: this.content(),
      api,
      provider,
      model,
      ...(usage !== undefined && { usage }),
      stopReason,
      ...(errorMessage !== undefined && { errorMessage }),
    };
  }

  finish(model: Pick<Model, 'api' | 'provider' | 'id'>, end: AnswerEnd): FinishEvent {
    return {
      type: 'finish',
      stopReason: end.stopReason,
      ...(end.usage !== undefined && { usage: end.usage }),
      message: this.message(model, end),
      ...(end.responseId !== undefined && { responseId: end.responseId }),
    };
  }

  #think({ block, text, signature = '', redacted }: Extract<ModelEvent, { type: 'thinking_delta' }>): void {
    const before = this.#blocks.get(block);
    const known = before?.type === 'thinking' ? before : undefined;
    const signed = (known?.thinkingSignature ?? '') + signature;
    this.#blocks.set(block, {
      type: 'thinking',
      thinking: (known?.thinking ?? '') + text,
      ...(signed !== '' && { thinkingSignature: signed }),
      ...((redacted ?? known?.redacted) && { redacted: true }),
    });
  }
}
