/** `reprise/ai-sdk`: `useChat` of the AI SDK on durable sessions. */

export { type ChatHandlerOptions, createChatHandler } from './chat-handler.ts';
export { toUIMessages, type UiMessage, type UiPart } from './ui-message.ts';
