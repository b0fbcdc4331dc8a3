import { failure } from '../../messages/failure.ts';

/** Magic numbers of `statfs`: NFS, SMB and CIFS, AFS, Ceph, 9P, Coda, NCP. */
const NETWORK_FILE_SYSTEMS: ReadonlySet<number> = new Set([
  0x6969, 0x517b, 0xff534d42, 0xfe534d42, 0x5346414f, 0x00c36400, 0x01021997, 0x73757245, 0x564c,
]);

/**
 * Refuses network file systems: SQLite's locks and shared memory do not work across machines, so two machines could
 * both become the only writer.
 */
export function refuseNetwork(home: string, fileSystem: number): void {
  if (!NETWORK_FILE_SYSTEMS.has(fileSystem >>> 0)) return;
  throw failure('INVALID_INPUT', 'store.networkHome', { home }, { details: { fileSystem } });
}
