import { describe } from 'vitest';
import { testStore } from '../../support/store/test-store.ts';

describe('the jsonl store', () => testStore('jsonl'));
