import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Each takes half a minute beside others: begun last, one of them would run alone while a processor rests. */
const LONGEST: readonly RegExp[] = [
  /store\/(?:rebuild|suite|salvage|thread-death|long-looks|full-size|convlog-files|cut-transcripts|model)\.test/,
  /transcript\/(?:projection\.property|line)\.test/,
  /models\/(?:wire|ai-sdk-streams)\.test/,
  /transfer\/|test\/examples\.test/,
  /cli\/(?:repl-pty|changes|home|remote)\.test/,
  /server\/(?:stream-nodes|stop|stream-slow-client)\.test/,
  /browser\/(?:steps|elsewhere|looks|branches)\.test/,
  /postgres\/(?:conversations|drivers|pooler|server-rounds|nodes-rolling)\.test|postgres-store\.test/,
  /crash\/(?:store-kill|store-locks|store-locks-moved|store-faults-errors|store-faults-blobs|store-faults-kill)\.test/,
  /crash\/(?:power-cut|turns-two-processes|turns-crash-points|conversations-kill)\.test/,
  /simulation\/seeds\.test/,
];

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const isLong = ({ moduleId }: TestSpecification): boolean => LONGEST.some((name) => name.test(moduleId));
    return [...sorted.filter(isLong), ...sorted.filter((file) => !isLong(file))];
  }
}
