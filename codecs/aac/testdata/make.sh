#!/bin/sh
# Makes the streams and 16-bit references of this folder with ffmpeg 5.1.9.
# FIXTURES is shared/fixtures/audio of the project.
set -e
enc() { ffmpeg -v error -y -bitexact -ss "$1" -t "$2" -i "$FIXTURES/$3" $4 -c:a aac -fflags +bitexact "$5.aac"; }
enc 0.3 1.0 s44.src.wav "-aac_pns 0 -b:a 128k" stereo44
enc 1.0 0.5 m16000.src.wav "-aac_pns 0 -b:a 24k" mono16
enc 0.5 0.2 s44.src.wav "-aac_pns 0 -aac_ms 1 -b:a 64k" joint44
ffmpeg -v error -y -f lavfi -i "aevalsrc='0.3*sin(440*t*6.28)|0.3*sin(550*t*6.28)|0.2*sin(660*t*6.28)|0.3*lt(mod(t\,0.03)\,0.002)|0.2*sin(1000*6.28*t)|0.2*sin(1200*6.28*t)':s=24000:d=0.15:c=5.1" \
	-c:a aac -aac_pns 0 -bitexact -fflags +bitexact six24.aac
for f in mono16 joint44 six24; do
	ffmpeg -v error -y -i $f.aac -f s16le $f.pcm
done

# Noise at a bitrate so low that the encoder writes the energies of bands in its place, in
# more than a third of them. The energies
# are those of ffmpeg's decoding: ENERGIES=1 go test ./codecs/aac -run TestNoise -v prints them.
noise() { ffmpeg -v error -y -f lavfi -i "aevalsrc=$1:s=32000:d=0.9" -c:a aac -aac_pns 1 -aac_ms 1 -aac_is 0 -b:a 16k -cutoff 15000 -bitexact -fflags +bitexact "$2.aac"; }
noise "'(0.1+0.3*lt(mod(t\,0.4)\,0.2))*(2*random(1)-1)'" noise32
noise "'0.3*random(0)-0.15+0.2*random(1)|0.3*random(0)-0.15+0.1*random(2)'" noisepair32
