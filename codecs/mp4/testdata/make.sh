#!/bin/sh
# Makes the files of this folder with ffmpeg 5.1.9. source.pcm is the sound in
# all of them, 16 bits, mono, 48 kHz.
set -e
ffmpeg -v error -y -f lavfi -i "aevalsrc='0.4*sin(2000*t*(1+3*t))*(0.6+0.4*sin(40*t))+0.1*sin(9000*t)':s=48000:d=0.2" -f s16le source.pcm
make() {
	out=$1
	shift
	ffmpeg -v error -y -f s16le -ar 48000 -ac 1 -i source.pcm -bitexact "$@" -map_metadata -1 -fflags +bitexact "$out"
}
make aac.m4a -c:a aac -aac_pns 0 -b:a 96k
make aac.mov -c:a aac -aac_pns 0 -b:a 96k
make fast.mp4 -c:a aac -aac_pns 0 -b:a 96k -movflags faststart
make fragments.mp4 -c:a aac -aac_pns 0 -b:a 96k -movflags frag_every_frame+delay_moov+default_base_moof
make alac.m4a -c:a alac
make flac.mp4 -c:a flac -strict -2
make opus.mp4 -c:a libopus -b:a 64k -application audio
make mp3.mp4 -c:a libmp3lame -b:a 96k
