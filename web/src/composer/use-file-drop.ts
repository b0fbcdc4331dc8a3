import type { Signal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';

export interface FileDropOptions {
  /** Set while files are dragged over the page. */
  readonly isOver: Signal<boolean>;
  readonly onFiles: (files: FileList) => void;
}

/** Takes files that are dropped anywhere on the page. Without this, the browser would open them instead of the page. */
export function useFileDrop({ isOver, onFiles }: FileDropOptions): void {
  const take = useRef(onFiles);
  take.current = onFiles;
  useEffect(() => {
    const hasFiles = ({ dataTransfer }: DragEvent): boolean => dataTransfer?.types.includes('Files') === true;
    const onOver = (event: DragEvent): void => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      isOver.value = true;
    };
    const onLeave = (event: DragEvent): void => {
      // Between two elements there is a next one; outside of the window there is no next one.
      if (event.relatedTarget === null) isOver.value = false;
    };
    const onDrop = (event: DragEvent): void => {
      isOver.value = false;
      if (!hasFiles(event) || event.dataTransfer === null) return;
      event.preventDefault();
      take.current(event.dataTransfer.files);
    };
    addEventListener('dragover', onOver);
    addEventListener('dragleave', onLeave);
    addEventListener('drop', onDrop);
    return () => {
      removeEventListener('dragover', onOver);
      removeEventListener('dragleave', onLeave);
      removeEventListener('drop', onDrop);
    };
  }, []);
}
