import type { Picture } from '../stores/pending.ts';

let count = 0;

/** Images among files, as the API takes them; other files are left out. */
export async function readPictures(files: readonly File[]): Promise<Picture[]> {
  const images = files.filter(({ type }) => type.startsWith('image/'));
  return Promise.all(
    images.map(async (file) => ({
      name: `${++count} ${file.name}`,
      mimeType: file.type,
      data: await base64(file),
    })),
  );
}

function base64(file: File): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result).replace(/^data:[^,]*,/, ''));
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(file);
  });
}
