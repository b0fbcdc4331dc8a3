import type {
  Convlog,
  ConvlogChatRef,
  ConvlogLinePage,
  ConvlogPage,
  ConvlogQuery,
  ConvlogRange,
} from '../../store/port/convlog.ts';

/**
 * Read access to the channel logs, for operators. No tool exposes it; a surface that does must check the caller
 * first. It has no write access: lines are written together with their messages.
 */
export interface ConvlogView {
  list(query?: ConvlogQuery): Promise<ConvlogPage>;
  read(chat: ConvlogChatRef, range?: ConvlogRange): Promise<ConvlogLinePage>;
}

export function convlogView({ convlog }: { readonly convlog: Convlog }): ConvlogView {
  return { list: (query) => convlog.list(query), read: (chat, range) => convlog.read(chat, range) };
}
