import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { errorsPage } from '../scripts/errors-doc.ts';
import * as reprise from '../src/index.ts';
import * as testing from '../src/testing/index.ts';

describe('the public API', () => {
  test('is these names, and a change to them is a decision', () => {
    expect(Object.keys(reprise).sort()).toMatchInlineSnapshot(`
      [
        "Answer",
        "BASE_CHUNK_RATIO",
        "COMMANDS",
        "CONTEXT_WINDOW_HARD_MIN_TOKENS",
        "CONTEXT_WINDOW_WARN_BELOW_TOKENS",
        "DEFAULT_CONTEXT_TOKENS",
        "DEFAULT_CUT",
        "DEFAULT_RECORD_LIMITS",
        "ERROR_TABLE",
        "IssueLog",
        "MIN_CHUNK_RATIO",
        "PROFILES",
        "Reprise",
        "RepriseError",
        "SAFETY_MARGIN",
        "SUMMARY_CARRIERS",
        "blobNames",
        "buildAgentMainSessionKey",
        "buildAgentPeerSessionKey",
        "buildGroupHistoryKey",
        "buildTree",
        "calibrate",
        "calibratedTokens",
        "chunkMessagesByMaxTokens",
        "commandHelp",
        "computeAdaptiveChunkRatio",
        "contentText",
        "contextBudget",
        "createFileTools",
        "createModel",
        "createTranscriptReader",
        "decodeLine",
        "digest",
        "encodeLine",
        "entryIdForSeq",
        "estimateEntryTokens",
        "estimateImageTokens",
        "estimateMessagesTokens",
        "estimateTextTokens",
        "estimateTokens",
        "estimateToolTokens",
        "evaluateContextWindowGuard",
        "extractBlobs",
        "findContextOverflow",
        "findFacts",
        "formatSessionKey",
        "guardModelCall",
        "hydrateBlobs",
        "isAcpSessionKey",
        "isProfileName",
        "isSessionId",
        "isSideEntry",
        "isSilentOverflow",
        "isSubagentSessionKey",
        "lastUsage",
        "learnWindow",
        "loadBlobs",
        "makeCompaction",
        "measureContext",
        "normalizeAgentId",
        "normalizeSessionKey",
        "openReprise",
        "openStore",
        "parseAgentId",
        "parseAgentSessionKey",
        "parseCommand",
        "parseSessionId",
        "parseSessionKey",
        "parseTranscript",
        "pathTo",
        "pinsInForce",
        "planCompaction",
        "planToolTruncation",
        "project",
        "pruneHistoryForContextShare",
        "readTranscript",
        "rebuildHistory",
        "recallReport",
        "resolveBoundAgent",
        "resolveContextWindow",
        "resolveSessionKey",
        "resolveThreadParentSessionKey",
        "runCommand",
        "safeCut",
        "selectContext",
        "speakEntries",
        "splitContext",
        "splitMessagesByTokenShare",
        "summarizeInStages",
        "summarizeWithFallback",
        "truncateToolText",
        "unknownCommandText",
      ]
    `);
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
    const error = new reprise.RepriseError('STORE_FAILED', 'no luck', { cause, details: { path: 'x' } });
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
    expect(new reprise.RepriseError('STORE_FAILED', 'x', { outcome: 'none' }).outcome).toBe('none');
  });
});
