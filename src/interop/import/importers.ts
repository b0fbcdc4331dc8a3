import type { Importer } from './importer.ts';
import { chatgpt } from './tools/chatgpt.ts';
import { claudeAi } from './tools/claude-ai.ts';
import { claudeCode } from './tools/claude-code.ts';
import { codex } from './tools/codex.ts';
import { geminiCli } from './tools/gemini-cli.ts';
import { langchain } from './tools/langchain.ts';
import { openaiAgents } from './tools/openai-agents.ts';
import { openclawDatabase } from './tools/openclaw-database.ts';
import { opencode } from './tools/opencode.ts';
import { pi } from './tools/pi.ts';
import { transcripts } from './tools/transcripts.ts';
import { zeroclaw } from './tools/zeroclaw.ts';

/** The most specific formats first. The last one takes every file of lines and says why it cannot be read. */
export const IMPORTERS: readonly Importer[] = [
  ...[claudeCode, codex, geminiCli, opencode, openclawDatabase, zeroclaw],
  ...[chatgpt, claudeAi, langchain, openaiAgents, pi, transcripts],
];
