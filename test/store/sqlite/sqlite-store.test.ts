import { describe } from 'vitest';
import { testStore } from '../../support/store/test-store.ts';

describe('the sqlite store', () => testStore('sqlite'));
