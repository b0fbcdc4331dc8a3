import { readFileSync } from 'node:fs';
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { errorsPage } from '../scripts/errors-doc.ts';
import { ownSources } from '../scripts/own-sources.ts';
import { RepriseError } from '../src/index.ts';
import * as testing from '../testing/index.ts';

const SOURCES = ownSources();

/** The values of each entry point; `testing` is listed by itself below. */
async function valuesOf(): Promise<Record<string, string[]>> {
  const values: Record<string, string[]> = {};
  for (const [name, url] of Object.entries(SOURCES)) {
    if (name === 'reprise/testing') continue;
    const module = (await import(url)) as object;
    values[name] = Object.keys(module).sort();
  }
  return values;
}

describe('the public API', () => {
  test('has one source file for each entry point of the package', () => {
    const { exports } = JSON.parse(readFileSync('package.json', 'utf8')) as {
      exports: Record<string, { default?: string }>;
    };
    const published = Object.entries(exports).flatMap(([path, { default: file }]) =>
      file === undefined ? [] : [[`reprise${path.slice(1)}`, file]],
    );
    const built = Object.entries(SOURCES).map(([name, url]) => [
      name,
      `./dist/${relative('.', fileURLToPath(url)).replace(/\.ts$/, '.js')}`,
    ]);
    expect(Object.fromEntries(published)).toEqual(Object.fromEntries(built));
  });

  test('has at most 35 names in `reprise` itself', () => {
    const names = [...readFileSync('src/index.ts', 'utf8').matchAll(/\{([^}]*)\}/g)].flatMap(
      ([, list = '']) => list.split(',').filter((name) => name.trim() !== ''),
    );
    expect(names.length).toBeLessThanOrEqual(35);
  });

  test('is these names, and a change to them is a decision', async () => {
    expect(await valuesOf()).toEqual({
      reprise: 'Reprise RepriseError createModel guardModelCall openReprise openStore tool'.split(' '),
      'reprise/transcript':
        'DEFAULT_RECORD_LIMITS IssueLog SUMMARY_CARRIERS blobNames buildTree contentText createTranscriptReader decodeLine encodeLine entryIdForSeq extractBlobs hydrateBlobs isSideEntry parseTranscript pathTo project readTranscript rebuildHistory selectContext'.split(
          ' ',
        ),
      'reprise/context':
        'BASE_CHUNK_RATIO CONTEXT_WINDOW_HARD_MIN_TOKENS CONTEXT_WINDOW_WARN_BELOW_TOKENS DEFAULT_CONTEXT_TOKENS MIN_CHUNK_RATIO SAFETY_MARGIN calibrate calibratedTokens chunkMessagesByMaxTokens computeAdaptiveChunkRatio contextBudget estimateEntryTokens estimateImageTokens estimateMessagesTokens estimateTextTokens estimateTokens estimateToolTokens evaluateContextWindowGuard lastUsage learnWindow limitHistoryTurns measureContext overheadTokens planToolTruncation pruneHistoryForContextShare resolveContextWindow splitContext splitMessagesByTokenShare truncateToolText'.split(
          ' ',
        ),
      'reprise/compaction':
        'DEFAULT_CUT digest findFacts makeCompaction pinsInForce planCompaction recallReport safeCut speakEntries summarizeInStages summarizeWithFallback'.split(
          ' ',
        ),
      'reprise/keys':
        'buildAgentMainSessionKey buildAgentPeerSessionKey buildGroupHistoryKey formatSessionKey isAcpSessionKey isSessionId isSubagentSessionKey normalizeAgentId normalizeSessionKey parseAgentId parseAgentSessionKey parseSessionId parseSessionKey resolveBoundAgent resolveSessionKey resolveThreadParentSessionKey'.split(
          ' ',
        ),
      'reprise/store':
        'loadBlobs openStore resolveDefaultSessionStorePath resolveSessionFilePath resolveSessionTranscriptPath resolveSessionTranscriptsDir'.split(
          ' ',
        ),
      'reprise/models': 'Answer createModel findContextOverflow isSilentOverflow'.split(' '),
      'reprise/engine':
        'COMMANDS ERROR_TABLE PROFILES commandHelp createFileTools isProfileName parseCommand planMaintenance runCommand runMaintenance unknownCommandText'.split(
          ' ',
        ),
      'reprise/server': ['createApp'],
      'reprise/ai-sdk': ['createChatHandler', 'toUIMessages'],
      'reprise/client':
        'Client RepriseError SseParser commandText createClient failedMessage isMessage sentence textOf whyOf'.split(
          ' ',
        ),
      'reprise/messages': 'ENGLISH causeText messageText messagesText'.split(' '),
    });
    expect(Object.keys(testing).sort()).toMatchInlineSnapshot(`
      [
        "ANTHROPIC_FAILURES",
        "OPENAI_FAILURES",
        "assertClean",
        "crashRounds",
        "createHistory",
        "createScriptedModel",
        "faultEnv",
        "faultShimSupport",
        "judgeHistory",
        "modelCases",
        "openAnthropicServer",
        "openOpenAiServer",
        "powerCutRounds",
        "readFaultLog",
        "readSession",
        "runModelCase",
        "runStoreCase",
        "serveStore",
        "startDriver",
        "storeCases",
        "validateAiSdkMessages",
        "validateAnthropicMessages",
        "validateBedrock",
        "validateGemini",
        "validateLocalTemplate",
        "validateMistral",
        "validateOpenAiChat",
        "validateOpenAiResponses",
      ]
    `);
  });

  test('docs/errors.md is what the table says', () => {
    expect(readFileSync('docs/errors.md', 'utf8')).toBe(errorsPage());
  });

  test('an error carries its row', () => {
    const cause = new Error('disk');
    const error = new RepriseError('STORE_FAILED', 'no luck', { cause, details: { path: 'x' } });
    expect(error).toBeInstanceOf(Error);
    expect(error).toMatchObject({
      code: 'STORE_FAILED',
      httpStatus: 500,
      exitCode: 1,
      retryable: true,
      outcome: 'unknown',
      details: { path: 'x' },
      cause,
    });
    expect(new RepriseError('STORE_FAILED', 'x', { outcome: 'none' }).outcome).toBe('none');
  });
});
