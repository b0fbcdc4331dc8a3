import { describe } from 'vitest';
import { testStore } from '../support/test-store.ts';

describe('the sqlite store', () => testStore('sqlite'));
