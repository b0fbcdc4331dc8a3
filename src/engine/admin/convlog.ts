import type {
  Convlog,
  ConvlogChatRef,
  ConvlogLinePage,
  ConvlogPage,
  ConvlogQuery,
  ConvlogRange,
} from '../../store/port/convlog.ts';

/**
 * What was said on the channels, for people who look after an engine. There is no tool for it: a surface that offers
 * it asks first who is asking. It can be read and not written; lines come with the messages themselves.
 */
export interface ConvlogView {
  list(query?: ConvlogQuery): Promise<ConvlogPage>;
  read(chat: ConvlogChatRef, range?: ConvlogRange): Promise<ConvlogLinePage>;
}

export function convlogView({ convlog }: { readonly convlog: Convlog }): ConvlogView {
  return { list: (query) => convlog.list(query), read: (chat, range) => convlog.read(chat, range) };
}
